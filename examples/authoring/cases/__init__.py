"""The drawings, one module an object."""
