package continual

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/cpu"
)

// Machine names what a run computed on. Engines compile other code for another processor, which may round differently.
type Machine struct {
	System    string `json:"system"`              // operating system and architecture, such as linux/amd64
	Processor string `json:"processor,omitempty"` // its name, family and model, where the system tells them
	Vectors   string `json:"vectors,omitempty"`   // the widest vector instructions: avx512, avx2, sve; empty for others
	Threads   int    `json:"threads"`             // that Go runs at once
}

// machine describes this one.
var machine = sync.OnceValue(func() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Vectors: vectors(), Threads: runtime.GOMAXPROCS(0)}
	if file, err := os.Open("/proc/cpuinfo"); err == nil {
		m.Processor = processorIn(file)
		_ = file.Close()
	}
	return m
})

// String names the machine in a line; nothing where it is not known.
func (m Machine) String() string {
	if m == (Machine{}) {
		return ""
	}
	words := []string{cmp.Or(m.Processor, m.System)}
	if m.Vectors != "" {
		words = append(words, m.Vectors)
	}
	threads := "1 thread"
	if m.Threads != 1 {
		threads = fmt.Sprintf("%d threads", m.Threads)
	}
	return strings.Join(append(words, threads), ", ")
}

// like reports whether two machines are alike: the same system and vector instructions, and the same processor if both
// record one. A machine of which nothing is recorded is like any other.
func (m Machine) like(other Machine) bool {
	m.Threads, other.Threads = 0, 0
	if m.Processor == "" || other.Processor == "" {
		m.Processor, other.Processor = "", ""
	}
	return m == other || m == Machine{} || other == Machine{}
}

func vectors() string {
	switch {
	case cpu.X86.HasAVX512F:
		return "avx512"
	case cpu.X86.HasAVX2:
		return "avx2"
	case cpu.ARM64.HasSVE:
		return "sve"
	}
	return ""
}

// processorIn reads the first processor of Linux's /proc/cpuinfo: "Xeon, family 6, model 85", as far as it is told, or
// "implementer 0x41, part 0xd0c" of ARM, which has no such names.
func processorIn(info io.Reader) string {
	told := map[string]string{}
	for lines := bufio.NewScanner(info); lines.Scan() && lines.Text() != ""; {
		name, value, _ := strings.Cut(lines.Text(), ":")
		told[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	var words []string
	for _, part := range [][2]string{{"", cmp.Or(told["model name"], told["vendor_id"])},
		{"family ", told["cpu family"]}, {"model ", told["model"]},
		{"implementer ", told["CPU implementer"]}, {"part ", told["CPU part"]}} {
		if part[1] != "" {
			words = append(words, part[0]+part[1])
		}
	}
	return strings.Join(words, ", ")
}
