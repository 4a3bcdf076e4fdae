"""The border to GitHub: pull requests and commits are read through its REST API, and nothing else.

Types of httpx stay inside.
"""
