# TRACED Curator on CPUs.
#   docker build -t traced-curator .
#   docker run --rm -p 127.0.0.1:7860:7860 -v traced:/data traced-curator \
#       serve --host 0.0.0.0 --no-login
FROM python:3.11-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY constraints.txt requirements.lock ./
# torch for CPUs: the index named here has builds without gigabytes of CUDA.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock \
    && grep '==' constraints.txt \
    | xargs pip install --no-cache-dir --index-url "$TORCH_INDEX"
RUN --mount=from=build,source=/wheels,target=/wheels pip install --no-cache-dir --no-deps /wheels/*.whl \
    && useradd --create-home curator && install -d -o curator /data
USER curator
ENV TRACED_DATA_DIRECTORY=/data \
    HF_HOME=/data/hub \
    HF_HUB_DISABLE_TELEMETRY=1 \
    GRADIO_ANALYTICS_ENABLED=False \
    TOKENIZERS_PARALLELISM=false
VOLUME /data
EXPOSE 7860
ENTRYPOINT ["traced-curator"]
# Starts only once there are accounts, or with --no-login as above.
CMD ["serve", "--host", "0.0.0.0"]
