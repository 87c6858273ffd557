// Package untrusted makes text from other people's files safe to print.
package untrusted

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain replaces each control character by a space. Terminals take some control characters as commands.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// Commands reports whether a text of several lines holds a control character other than line feeds and tabs.
func Commands(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

// YAML returns a value as JSON that YAML reads as the same value: it escapes what JSON may hold raw and YAML may not.
func YAML(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, r := range string(text) {
		if r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out, nil
}

// CheckJSON returns an error if a string or a field's name in a JSON document holds a control character. It scans the
// bytes: to decode them again would take longer than to read the result.
func CheckJSON(document []byte) error {
	for i := 0; i+1 < len(document); i++ {
		control := false
		switch c, next := document[i], document[i+1]; c {
		case '\\': // only strings have it
			control = strings.IndexByte("bfnrt", next) >= 0 || next == 'u' && controlCode(document[i+2:])
			i++
		case 0x7f:
			control = true
		case 0xc2: // begins U+0080 to U+00BF
			control = next < 0xa0
		}
		if control {
			return fmt.Errorf("a text holds a control character after %q", document[max(0, i-40):i])
		}
	}
	return nil
}

// controlCode reports whether four hexadecimal digits are those of a control character.
func controlCode(digits []byte) bool {
	code, err := strconv.ParseUint(string(digits[:min(4, len(digits))]), 16, 16)
	return err == nil && unicode.IsControl(rune(code))
}

var markdown = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "`", "\\`", "[", `\[`, "]", `\]`,
	"<", "&lt;", "&", "&amp;", "\n", " ", "\r", " ")

// Markdown escapes the characters of a text that Markdown or HTML would take for markup.
func Markdown(text string) string { return markdown.Replace(text) }
