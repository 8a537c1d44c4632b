"""What compiles the kernel and the handlers, keeps the machine code and calls it."""
