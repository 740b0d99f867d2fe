"""What ``pipeline`` tells in order, one step per file; here evidence and judgement meet."""
