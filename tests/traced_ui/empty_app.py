"""A Gradio app with one text box on the server that ours runs on: python empty_app.py PORT

What a start costs is compared with it (`bench --start`).
"""

import sys

import fastapi
import gradio as gr
import uvicorn

if __name__ == "__main__":
    with gr.Blocks(analytics_enabled=False) as blocks:
        gr.Textbox()
    app = gr.mount_gradio_app(fastapi.FastAPI(), blocks, path="/")
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
