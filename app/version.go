package app

// version is set by the linker, see the Makefile.
var version = "dev"

// Version is what the program was built from, such as v1.2.0 or v1.2.0-3-gabcdef0;
// dev when the build did not say.
func Version() string { return version }
