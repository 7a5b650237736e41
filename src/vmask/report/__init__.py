"""What people look at: coloured texts and HTML pages."""
