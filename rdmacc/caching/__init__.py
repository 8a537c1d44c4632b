"""What results that are kept depend on, and how long they live."""
