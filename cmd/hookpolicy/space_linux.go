package main

import (
	"math"
	"syscall"
)

func spaceOn(dir string) space {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return space{math.NaN(), math.NaN()}
	}
	block := float64(s.Bsize)
	return space{free: float64(s.Bavail) * block, size: float64(s.Blocks) * block}
}
