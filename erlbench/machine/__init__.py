"""What this machine is: cores, memory and devices, the arithmetic of its libraries, its description for meta.json."""
