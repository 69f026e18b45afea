// Dist makes what a release consists of, for `make dist`:
//
//	go run ./packaging/dist -version v1.2.0 -commit SHA -epoch SECONDS [-out dist] [-platforms linux/amd64,…] -- FLAGS OF GO BUILD
//
// For each platform an archive and a software bill of materials (CycloneDX); for most
// Linux ones a .deb and an .rpm; one OCI image for two of them; the licences of what is
// linked; and SHA256SUMS over all of it.
//
// # What it promises
//
// The same source, flags, version, commit, time and Go make the same bytes, on any
// machine and in any folder: nothing that is made knows another time than -epoch, a
// path, a user or the order in which a folder was read. The folder -out is replaced as
// a whole or stays as it was.
//
// It needs no daemon and no other program than Go. nfpm and cyclonedx-gomod are built
// as packaging/tools pins them; -tools=false leaves out what they make. Nothing of this
// is linked into the program.
package main
