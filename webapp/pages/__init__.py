"""The pages, a module per noun: routes and what their templates show."""
