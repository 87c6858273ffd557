package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A browser that saot opened is of another process group than saot, to which a terminal sends Ctrl-C.
func TestBrowserTakesNoSignalsOfTheTerminal(t *testing.T) {
	dir := t.TempDir()
	told := filepath.Join(dir, "group")
	script := fmt.Sprintf("#!/bin/sh\necho $(cut -d' ' -f5 /proc/$$/stat) $1 >%[1]s.new && mv %[1]s.new %[1]s\n", told)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if _, err := exec.LookPath("cut"); err != nil {
		t.Skip("there is no cut")
	}
	browseTo("http://127.0.0.1:1/")
	var text []byte
	require.Eventually(t, func() (ok bool) {
		text, _ = os.ReadFile(told)
		return len(text) > 0
	}, time.Minute, 10*time.Millisecond)
	group, url, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	require.Equal(t, "http://127.0.0.1:1/", url)
	require.NotEqual(t, strconv.Itoa(syscall.Getpgrp()), group)
}
