// Package nb shows figures inside a GoNB notebook: one (Show), many behind a slider that works in the exported page as
// well (Frames), and, while the notebook is open in a browser, one that is drawn anew as its reader moves knobs and presses
// buttons (Panel, and Live for a single slider).
package nb

import (
	"errors"
	"fmt"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/saot-go/saot/plotting"
)

// ErrNoNotebook is returned where no notebook kernel has started the program.
var ErrNoNotebook = errors.New("nb: the program does not run in a GoNB notebook: use Figure.Save instead")

// Show displays a figure below the running cell and returns when the notebook has received it. The picture is a PNG,
// which every viewer, the exported page included, shows alike, at 96 pixels to the inch with the double in reserve.
// Outside a notebook it writes nothing and returns ErrNoNotebook; an empty figure is an error everywhere.
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
		Data:     map[protocol.MIMEType]any{protocol.MIMEImagePNG: png},
		Metadata: map[string]any{string(protocol.MIMEImagePNG): map[string]int{"width": int(pixels(width))}},
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

// pixels turns points into the pixels of a web page, of which there are 96 to the inch.
func pixels(points float64) float64 { return points * 96 / 72 }
