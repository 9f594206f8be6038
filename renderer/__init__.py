"""The half that runs inside the sandbox: bytes of a submission in, raw pixel frames out.

Nothing here is imported by the trusted side except :mod:`renderer.protocol`, which needs neither
OpenUSD nor OpenGL. Importing this package imports nothing else.
"""
