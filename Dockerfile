# For training; docs/installing.md says how. Dockerfile.serving serves a SavedModel.
FROM python:3.13-slim
COPY . /source
RUN pip install --no-cache-dir /source
WORKDIR /work
CMD ["tcnlm-train", "--help"]
