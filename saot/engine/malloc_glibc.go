//go:build cgo && linux

package engine

// #include <malloc.h>
//
// #ifdef __GLIBC__
// // One arena for all threads: the others ask the system for each large piece and give it back. glibc counts its
// // arenas when a second thread allocates, so this comes before there is one.
// __attribute__((constructor)) static void one_arena(void) { mallopt(M_ARENA_MAX, 1); }
// #endif
//
// static void keep_memory(void) {
// #ifdef __GLIBC__
// 	mallopt(M_MMAP_MAX, 0);
// 	mallopt(M_TRIM_THRESHOLD, -1);
// #endif
// }
//
// static void give_back(void) {
// #ifdef __GLIBC__
// 	malloc_trim(0);
// #endif
// }
import "C"

// keepMemory tells glibc to keep what is freed for the next allocation. XLA allocates the buffers of a step in each
// step again. If they are returned to the system in between, every page of them costs a fault: a sixth of a step on
// Coauthor-CS.
func keepMemory() { C.keep_memory() }

// giveBackMemory returns what is free to the system, the holes between pieces in use included. A compiled graph lies in
// the midst of what was free, and a buffer that fitted there before takes new memory instead: without this a run grows
// by the largest buffer of a step with each graph.
func giveBackMemory() { C.give_back() }
