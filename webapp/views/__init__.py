"""What a template is given: frozen dataclasses, made by one function per page.

A page and the fragments of it are drawn from the same object, so that they cannot drift apart.
"""
