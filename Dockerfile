# Two images. `make image` prepares the context (site/ and packages/ come from hash-locked wheels), builds
# both, hashes what was built and writes the trusted lock. No package index is needed in here, and no BuildKit.
ARG BASE=debian:trixie-slim

# The sandbox: Debian 13, its Python 3.13, Mesa, and of Storm's wheel only the named list.
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

# The trusted half with bubblewrap, and the sandbox's own files inside: for nodes that run containers.
FROM renderer AS appliance
USER 0:0
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends bubblewrap \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /usr/share/doc /usr/share/man
COPY packages /opt/packages
COPY sandbox /opt/render-judge/sandbox
COPY receipt /opt/render-judge/receipt
COPY judge /opt/render-judge/judge
COPY appliance /opt/render-judge/appliance
# Beside the sources, where the appliance looks; -I keeps the caller's environment and folder out of the command.
RUN mkdir /opt/render-judge/.runtime \
    && ln -s /opt/storm /opt/render-judge/.runtime/site \
    && echo /usr/bin/python3 > /opt/render-judge/.runtime/interpreter \
    && printf '%s\n' '#!/usr/bin/python3 -I' 'import sys' 'sys.path[:0] = ["/opt/render-judge", "/opt/packages"]' \
        'from appliance.cli import main' 'sys.exit(main())' > /usr/local/bin/render-judge \
    && chmod 755 /usr/local/bin/render-judge
USER 65534:65534
ENTRYPOINT ["/usr/local/bin/render-judge"]
