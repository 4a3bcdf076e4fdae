"""What is in a file: text, the text of a PDF, or a picture. Knows nothing of where it came from."""
