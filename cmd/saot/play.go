package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/saot-go/saot/internal/shell"
	"github.com/saot-go/saot/notebooks/course"
	"github.com/saot-go/saot/playground"
)

func newPlayCommand() *cobra.Command {
	var address string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "play",
		Short: "open the playground: SAOT in a browser tab",
		Long: `Serve the playground and print its address. On its pages the packages of this toolkit run in the browser,
as WebAssembly that the go command on PATH builds into the user's cache. Run it within the repository: it builds the
sources there, without a network. Elsewhere Go downloads the sources of this program's version. Node is not needed.
Only this machine is served, unless --address names an address that others reach, such as 0.0.0.0:7373. The command
serves until it is interrupted.`,
		Example: `  saot play
  saot play --address 127.0.0.1:0 --no-open`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, taken, err := listen(address, cmd.Flags().Changed("address"))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprint(cmd.OutOrStdout(), taken); err != nil {
				return errors.Join(err, listener.Close())
			}
			return play(cmd, listener, !quiet && isTerminal(os.Stdout))
		},
	}
	cmd.Flags().StringVar(&address, "address", playground.Address, "where to listen; port 0 takes a free one")
	cmd.Flags().BoolVar(&quiet, "no-open", false, "do not open the address in a browser, as happens on a terminal")
	return cmd
}

// listen listens at an address. If the default port is taken, it listens at a free one and returns a line that says so.
func listen(address string, chosen bool) (listener net.Listener, taken string, err error) {
	listener, err = net.Listen("tcp", address)
	if errors.Is(err, addressInUse) && !chosen {
		_, port, _ := net.SplitHostPort(address)
		taken = fmt.Sprintf("port %s is taken: links in notebooks do not lead here\n", port)
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: choose another --address", err)
	}
	return listener, taken, nil
}

func play(cmd *cobra.Command, listener net.Listener, browse bool) error {
	ctx, stop := context.WithCancel(cmd.Context())
	s, err := playground.NewServer(ctx, "")
	if err != nil {
		stop()
		return errors.Join(err, listener.Close())
	}
	url, more := reached(listener.Addr())
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "the playground is at %s\n%spress Ctrl-C to end\n", url, more)
	if err != nil {
		stop()
		_ = s.Wait()
		return errors.Join(err, s.Close(), listener.Close())
	}
	if browse {
		browseTo(url)
	}
	go func() {
		if err := s.Wait(); err != nil && ctx.Err() == nil {
			_, _ = fmt.Fprintln(cmd.ErrOrStderr(), err)
		}
	}()
	err = s.Serve(ctx, listener)
	stop()
	_ = s.Wait() // until nothing is built into the folder any more
	return errors.Join(err, s.Close())
}

// reached returns the address at which this machine reaches a listener, and a line on how others do if the listener
// takes all addresses: a browser does not open the address 0.0.0.0.
func reached(address net.Addr) (url, more string) {
	at, ok := address.(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return fmt.Sprintf("http://%s/", address), ""
	}
	return fmt.Sprintf("http://127.0.0.1:%d/", at.Port),
		fmt.Sprintf("other machines use this machine's name instead of 127.0.0.1, with port %d\n", at.Port)
}

// browseTo opens an address in the user's browser, where there is one; the address is printed as well.
func browseTo(url string) {
	command := exec.Command("xdg-open", url)
	switch runtime.GOOS {
	case "darwin":
		command = exec.Command("open", url)
	case "windows":
		command = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	}
	detach(command)
	if command.Start() == nil {
		go func() { _ = command.Wait() }()
	}
}

func newSiteCommand() *cobra.Command {
	return group("site", "the playground and the course as a static web site", "", newSiteBuildCommand())
}

func newSiteBuildCommand() *cobra.Command {
	out, withCourse := "", false
	o := course.Options{}
	cmd := &cobra.Command{
		Use:   "build",
		Short: "write a folder that any web server serves",
		Long: `Write the playground into a folder that any web server can serve under any prefix, GitHub Pages too. Run
it within the repository, as saot play. With --course the folder course in it has the pages of the notebooks, which link
to the playground. This needs what saot notebooks build needs.`,
		Example: `  saot site build -o site
  saot site build -o site --course`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			say := func(format string, args ...any) { _, _ = fmt.Fprintf(cmd.OutOrStdout(), format, args...) }
			if withCourse { // first: Jupyter may be missing, and the playground takes minutes
				o.Out = filepath.Join(out, "course")
				o.Playground = ".."
				if _, err := course.Build(cmd.Context(), o); err != nil {
					return err
				}
			}
			if err := playground.Build(cmd.Context(), out, "", say); err != nil {
				return err
			}
			say("site: %s\n", filepath.Join(out, "index.html"))
			say("its pages compute where a server serves them: python3 -m http.server -d %s\n",
				shell.Typed(out))
			return nil
		},
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		return cmp.Or(needs(cmd, "notebooks", "course"), needs(cmd, "jupyter", "course"))
	}
	cmd.Flags().StringVarP(&out, "out", "o", "site", "folder of the site")
	cmd.Flags().BoolVar(&withCourse, "course", false, "with the course of notebooks")
	cmd.Flags().StringVar(&o.Notebooks, "notebooks", "notebooks", "folder of the notebooks, for --course")
	cmd.Flags().StringVar(&o.Jupyter, "jupyter", "",
		"jupyter command, for --course; default: $SAOT_JUPYTER, or the one on PATH")
	return cmd
}
