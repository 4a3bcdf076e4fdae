"""Tests of what is kept in the database."""
