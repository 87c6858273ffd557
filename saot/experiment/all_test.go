package experiment

import _ "github.com/saot-go/saot/saot/method/all" // specs and tables name methods
