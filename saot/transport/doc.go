// Package transport is optimal transport for graph learning.
package transport
