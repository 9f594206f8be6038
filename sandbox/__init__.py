"""The way in: snapshot of a submission, isolation backends, limits, hand-over and the stream of frames."""
