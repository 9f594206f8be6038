# The sandbox: Debian 13, its Python 3.13, Mesa, and of Storm's wheel only the named list.
# `make image` prepares the context (site/ comes from hash-locked wheels), builds this, hashes what was
# built and writes the trusted lock. No package index is needed in here, and BuildKit is not either.
ARG BASE=debian:trixie-slim

FROM ${BASE} AS renderer
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        python3 libegl1 libgl1 libgl1-mesa-dri libegl-mesa0 libglx-mesa0 \
        libx11-6 libxext6 libsm6 libice6 libxi6 libxrender1 libxkbcommon0 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /usr/share/doc /usr/share/man
COPY site /opt/storm
COPY renderer /opt/render-judge/renderer
COPY profiles /opt/render-judge/profiles
USER 65534:65534
WORKDIR /tmp
