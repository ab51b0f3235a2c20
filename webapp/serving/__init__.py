"""The application and its server: pages, sockets, shutdown."""
