//go:build cgo && (linux || darwin)

package install

import "github.com/gomlx/go-xla/installer"

// installGoXLA brings the CPU plugin from the release page of go-xla's authors. They publish no checksums.
func installGoXLA(folder string) error {
	return installer.CPUAutoInstall(folder, false, installer.Quiet)
}
