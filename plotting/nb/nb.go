// Package nb shows figures in a GoNB notebook: one (Show), several in a player that also works in the exported page
// (Frames), and, while the notebook is open in a browser, one that is redrawn whenever the reader moves a knob or
// presses a button (Panel).
package nb

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/saot-go/saot/plotting"
)

// ErrNoNotebook is returned if no notebook kernel has started the program.
var ErrNoNotebook = errors.New("nb: the program does not run in a GoNB notebook: use Figure.Save instead")

// Show displays a figure below the running cell and returns when the notebook has received it. The picture is a PNG,
// which all viewers and the exported page show alike, at 96 pixels per inch on screen, scaled down to 960 pixels of
// width if it is wider, and 144 dots per inch in the file. Outside a notebook it writes nothing and returns
// ErrNoNotebook; an empty figure is always an error.
func Show(f plotting.Figure) error {
	png, err := f.PNG()
	if err != nil {
		return fmt.Errorf("nb: %w", err)
	}
	if !gonbui.IsNotebook {
		return ErrNoNotebook
	}
	width, _ := f.Size()
	gonbui.SendData(&protocol.DisplayData{
		Data: map[protocol.MIMEType]any{protocol.MIMEImagePNG: png},
		Metadata: map[string]any{
			string(protocol.MIMEImagePNG): map[string]int{"width": cssWidth(width)},
			"alt":                         f.Alt(), // the exported page has it
		},
	})
	return received()
}

// received waits until the kernel has what was sent.
func received() error {
	gonbui.Sync()
	if err := gonbui.Error(); err != nil {
		return fmt.Errorf("nb: the notebook's pipe is broken: restart the kernel: %w", err)
	}
	return nil
}

// pixels turns points (1/72 inch) into pixels of a web page (1/96 inch).
func pixels(points float64) float64 { return points * 96 / 72 }

// mostWidth is the width of a notebook's column: wider pictures would be cut off, or shrunk by each viewer in its way.
const mostWidth = 960

// cssWidth is the width of a figure on a page, in pixels.
func cssWidth(points float64) int { return min(int(pixels(points)), mostWidth) }

func dataURL(f plotting.Figure) (string, error) {
	png, err := f.PNG()
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(png), err
}
