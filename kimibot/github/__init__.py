"""The border to GitHub: its REST API, to read pull requests and commits and to post reviews.

Types of httpx stay inside.
"""
