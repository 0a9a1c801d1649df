# A served knowledge base. Build it where this file is, and put the base and the folder of its model into ./data:
#
#     docker build --tag hmem .
#     docker run --rm --user "$(id -u):$(id -g)" --publish 127.0.0.1:8000:8000 --volume ./data:/data --env HMEM_TOKEN \
#         hmem serve /data/zoo.kb --host 0.0.0.0 --host-name localhost
#
# The user must be able to write to ./data, even if all it does is read: SQLite keeps a file beside a base in use.
#
# PyTorch comes with CUDA from the usual index. For the smaller one without, name an index that has it:
#     docker build --build-arg PIP_INDEX_URL=... --tag hmem .

FROM python:3.11-slim AS build
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
RUN python -m venv /opt/hmem
COPY pyproject.toml constraints.txt README.md LICENSE /source/
COPY src /source/src
RUN /opt/hmem/bin/pip install --no-cache-dir --constraint /source/constraints.txt "/source[postgres,serve]"

FROM python:3.11-slim
RUN useradd --system --uid 10001 --no-create-home hmem && mkdir /data && chown hmem /data
COPY --from=build /opt/hmem /opt/hmem
ENV PATH=/opt/hmem/bin:$PATH \
    PYTHONUNBUFFERED=1
USER hmem
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["hmem"]
# Everybody who can reach the port may read. Writes are off unless HMEM_TOKEN is set.
CMD ["serve", "/data/zoo.kb", "--host", "0.0.0.0"]
