package main

import "syscall"

// addressInUse is what Windows itself says (WSAEADDRINUSE); syscall.EADDRINUSE is a number of Go's own there.
const addressInUse = syscall.Errno(10048)
