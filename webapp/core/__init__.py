"""What every page and endpoint shares: services, errors, templates, parameters, uploads."""
