//go:build cgo && darwin

package engine

func keepMemory() {}

func giveBackMemory() {}
