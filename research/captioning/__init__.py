"""Training of captioners: maximum likelihood, and self-retrieval by REINFORCE (SR).

train_captioner     the job behind `python app.py captioner`
likelihood          maximum likelihood (ClipCap)
self_retrieval      REINFORCE: a caption is rewarded if a frozen CLIP finds its picture with it
curriculum          bags of similar pictures that grow during training (BagCurri)
policy              what training asks of a captioner: `blip_policy`, `clipcap_policy`
caption_metrics     CIDEr-D, distinct words, CHAIR: compared with references and objects
checkpointing       saving and resuming
"""
