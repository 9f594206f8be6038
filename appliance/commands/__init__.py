"""The commands of ``render-judge``, one module each."""
