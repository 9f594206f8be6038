"""The hall: an episode from submission to verdict, the command line, the report."""
