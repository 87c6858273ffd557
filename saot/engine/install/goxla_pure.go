//go:build !cgo || (!linux && !darwin)

package install

import "errors"

func installGoXLA(string) error {
	return errors.New("this binary was built without cgo, which XLA needs")
}
