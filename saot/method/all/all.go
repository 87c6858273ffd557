// Package all registers every method of this module. Import it for its effect:
//
//	import _ "github.com/saot-go/saot/saot/method/all"
package all

import (
	_ "github.com/saot-go/saot/saot"          // SAOT and its variants
	_ "github.com/saot-go/saot/saot/baseline" // the methods of the comparison
	_ "github.com/saot-go/saot/saot/control"  // the controls
)
