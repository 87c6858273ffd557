//go:build cgo

package engine

func keepMemory() {}
