package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// The part of Python's pickle format that NumPy's arrays and SciPy's sparse matrices take, protocols 3 and 4. It is our
// own for its safety: nothing is executed, no class is looked up, bytes are slices of the file, and the number of
// opcodes is bounded. What comes out may contain itself, so it must not be printed. Names of opcodes are those of
// Python's pickletools.

// pickled is an object that Python would have made by a call: the name of what is called, its arguments, and the state
// that the object was given afterwards.
type pickled struct {
	class string // module and name, with a dot between
	args  []any
	state any
}

// global is a class or function that is named, and not called yet.
type global string

// mark is where a tuple, a list or the items of a dictionary begin on the stack.
type mark struct{}

// mostOpcodes bounds the memory of a pickle's objects: an opcode of one byte may take a hundred bytes. A matrix has
// about 200 opcodes.
const mostOpcodes = 10_000

// longestName bounds the module and the name of a class together.
const longestName = 512

// unpickle returns the object of a pickle: nil, bool, int64, string, []byte, []any (tuples), *[]any (lists),
// map[string]any, *pickled or global. It returns an error for any other opcode, and where the bytes end early.
func unpickle(data []byte) (any, error) {
	u := &unpickler{rest: data}
	for range mostOpcodes {
		op, err := u.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' { // STOP
			return u.pop()
		}
		if err := u.step(op[0]); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: it has more than %d opcodes", errPickle, mostOpcodes)
}

type unpickler struct {
	rest  []byte
	stack []any
	memo  map[int64]any
}

var errPickle = errors.New("not a pickle of NumPy arrays")

// take returns the next bytes, without a copy.
func (u *unpickler) take(n uint64) ([]byte, error) {
	if n > uint64(len(u.rest)) {
		return nil, fmt.Errorf("%w: it is cut short", errPickle)
	}
	b := u.rest[:n]
	u.rest = u.rest[n:]
	return b, nil
}

// number returns the next little-endian number of some bytes.
func (u *unpickler) number(bytes uint64) (uint64, error) {
	b, err := u.take(bytes)
	if err != nil {
		return 0, err
	}
	var whole [8]byte
	copy(whole[:], b)
	return binary.LittleEndian.Uint64(whole[:]), nil
}

// counted returns the bytes that follow their number, which itself takes some bytes.
func (u *unpickler) counted(bytes uint64) ([]byte, error) {
	n, err := u.number(bytes)
	if err != nil {
		return nil, err
	}
	return u.take(n)
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, fmt.Errorf("%w: its stack is empty", errPickle)
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return v, nil
}

// popN returns the topmost n, the lowest first.
func (u *unpickler) popN(n int) ([]any, error) {
	if len(u.stack) < n {
		return nil, fmt.Errorf("%w: its stack is empty", errPickle)
	}
	items := append([]any{}, u.stack[len(u.stack)-n:]...)
	u.stack = u.stack[:len(u.stack)-n]
	return items, nil
}

// sinceMark returns what is above the last mark, and takes the mark away.
func (u *unpickler) sinceMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if u.stack[i] == any(mark{}) {
			items, err := u.popN(len(u.stack) - 1 - i)
			u.stack = u.stack[:i]
			return items, err
		}
	}
	return nil, fmt.Errorf("%w: a mark is missing", errPickle)
}

// widths are the bytes of the numbers that follow an opcode: of a value, or of a length.
var widths = map[byte]uint64{'K': 1, 'M': 2, 'J': 4, 'C': 1, 'B': 4, '\x8e': 8, '\x8c': 1, 'X': 4, 'q': 1, 'r': 4,
	'h': 1, 'j': 4}

func (u *unpickler) step(op byte) error {
	switch op {
	case '\x80': // PROTO
		_, err := u.take(1)
		return err
	case '\x95': // FRAME
		_, err := u.take(8)
		return err
	case 'N':
		u.push(nil)
	case '\x88', '\x89': // NEWTRUE, NEWFALSE
		u.push(op == '\x88')
	case '(':
		u.push(mark{})
	case ')':
		u.push([]any{})
	case ']':
		u.push(&[]any{})
	case '}':
		u.push(map[string]any{})
	case 'K', 'M', 'J': // BININT1, BININT2, BININT
		n, err := u.number(widths[op])
		if op == 'J' {
			n = uint64(int64(int32(n)))
		}
		u.push(int64(n))
		return err
	case 'C', 'B', '\x8e': // SHORT_BINBYTES, BINBYTES, BINBYTES8
		b, err := u.counted(widths[op])
		u.push(b)
		return err
	case 'X', '\x8c': // BINUNICODE, SHORT_BINUNICODE
		b, err := u.counted(widths[op])
		u.push(string(b))
		return err
	case 'q', 'r', '\x94', 'h', 'j':
		return u.remember(op)
	default:
		return u.build(op)
	}
	return nil
}

// remember carries out the opcodes of the memo.
func (u *unpickler) remember(op byte) error {
	key := int64(len(u.memo)) // of MEMOIZE
	if op != '\x94' {
		n, err := u.number(widths[op])
		if err != nil {
			return err
		}
		key = int64(n)
	}
	if op == 'h' || op == 'j' { // BINGET, LONG_BINGET
		v, ok := u.memo[key]
		if !ok {
			return fmt.Errorf("%w: it has no object %d", errPickle, key)
		}
		u.push(v)
		return nil
	}
	if len(u.stack) == 0 {
		return fmt.Errorf("%w: its stack is empty", errPickle)
	}
	if u.memo == nil {
		u.memo = map[int64]any{}
	}
	u.memo[key] = u.stack[len(u.stack)-1]
	return nil
}

// build carries out the opcodes that make objects of others.
func (u *unpickler) build(op byte) (err error) {
	var items []any
	switch op {
	case '\x85', '\x86', '\x87': // TUPLE1, TUPLE2, TUPLE3
		items, err = u.popN(int(op-'\x85') + 1)
		u.push(items)
	case 't': // TUPLE
		items, err = u.sinceMark()
		u.push(items)
	case 'c', '\x93': // GLOBAL, STACK_GLOBAL
		return u.global(op)
	case 'a', 'e': // APPEND, APPENDS
		if op == 'a' {
			items, err = u.popN(1)
		} else {
			items, err = u.sinceMark()
		}
		return errors.Join(err, u.extend(items))
	case 's', 'u': // SETITEM, SETITEMS
		if op == 's' {
			items, err = u.popN(2)
		} else {
			items, err = u.sinceMark()
		}
		return errors.Join(err, u.set(items))
	case 'R', '\x81': // REDUCE, NEWOBJ
		if items, err = u.popN(2); err != nil {
			return err
		}
		class, ok1 := items[0].(global)
		args, ok2 := items[1].([]any)
		if !ok1 || !ok2 {
			return fmt.Errorf("%w: it calls something that is not a class", errPickle)
		}
		u.push(&pickled{class: string(class), args: args})
	case 'b': // BUILD
		if items, err = u.popN(2); err != nil {
			return err
		}
		object, ok := items[0].(*pickled)
		if !ok {
			return fmt.Errorf("%w: it sets the state of something that is not an object", errPickle)
		}
		object.state = items[1]
		u.push(object)
	default:
		return fmt.Errorf("%w: it has the opcode %q", errPickle, op)
	}
	return err
}

func (u *unpickler) global(op byte) error {
	if op == '\x93' {
		items, err := u.popN(2)
		if err != nil {
			return err
		}
		module, ok1 := items[0].(string)
		name, ok2 := items[1].(string)
		if !ok1 || !ok2 || len(module)+len(name) > longestName {
			return fmt.Errorf("%w: a class has no name", errPickle)
		}
		u.push(global(module + "." + name))
		return nil
	}
	lines := strings.SplitN(string(u.rest[:min(len(u.rest), longestName)]), "\n", 3)
	if len(lines) < 3 {
		return fmt.Errorf("%w: a name is cut short", errPickle)
	}
	u.push(global(lines[0] + "." + lines[1]))
	_, err := u.take(uint64(len(lines[0]) + len(lines[1]) + 2))
	return err
}

func (u *unpickler) extend(items []any) error {
	if len(u.stack) > 0 {
		if list, ok := u.stack[len(u.stack)-1].(*[]any); ok {
			*list = append(*list, items...)
			return nil
		}
	}
	return fmt.Errorf("%w: it appends to something that is not a list", errPickle)
}

func (u *unpickler) set(items []any) error {
	if len(u.stack) > 0 && len(items)%2 == 0 {
		if dict, ok := u.stack[len(u.stack)-1].(map[string]any); ok {
			for i := 0; i < len(items); i += 2 {
				key, ok := items[i].(string)
				if !ok {
					return fmt.Errorf("%w: a key is not text", errPickle)
				}
				dict[key] = items[i+1]
			}
			return nil
		}
	}
	return fmt.Errorf("%w: it sets items of something that is not a dictionary", errPickle)
}
