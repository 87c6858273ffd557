//go:build !linux

package datasets

import "io/fs"

func changeTime(fs.FileInfo) int64 { return 0 }
