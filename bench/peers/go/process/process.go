// Package process is the code that the Go peers share: the resources that a process has used, how the workloads
// measure themselves, and the last line that a peer prints.
package process

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the user and system time of all threads in seconds.
func CPU() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

// Now returns the monotonic clock in nanoseconds, which is the same for all processes of the machine.
func Now() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// Memory returns the value of a line of /proc/self/status in bytes.
func Memory(line string) float64 {
	return lineOf("/proc/self/status", line) * 1024
}

// Sleeps returns how often this thread went to sleep. A wait for a lock counts, an interruption does not.
func Sleeps() float64 {
	return lineOf("/proc/thread-self/status", "voluntary_ctxt_switches")
}

// AllSleeps returns how often all threads of this process went to sleep.
func AllSleeps() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Nvcsw)
}

func lineOf(file, name string) float64 {
	status, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for text := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(text, name+":"); found {
			number, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return float64(number)
		}
	}
	return 0
}

// ForgetPeak resets the peak of the resident memory.
func ForgetPeak() error {
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// Setting returns a number that the harness has set in the environment.
func Setting(name string) (uint64, error) {
	value, err := strconv.ParseUint(os.Getenv(name), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return value, nil
}

// Workload returns the name of the workload.
func Workload() string {
	if name := os.Getenv("BENCH_WORKLOAD"); name != "" {
		return name
	}
	return "cache"
}

// Results holds the measured values under the names that the harness reads.
type Results map[string]float64

// Run runs a workload and prints the line of results, or the error.
func Run(workloads map[string]func(Results) error) {
	results := Results{"rss_start": Memory("VmRSS")}
	err := fmt.Errorf("BENCH_WORKLOAD: unknown workload %q", Workload())
	if workload := workloads[Workload()]; workload != nil {
		err = workload(results)
	}
	if err == nil {
		err = results.Print()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Print prints the line of results, unless the workload has already printed it.
func (r Results) Print() error {
	if len(r) == 0 {
		return nil
	}
	r["peak"] = Memory("VmHWM")
	err := json.NewEncoder(os.Stdout).Encode(r)
	clear(r)
	return err
}

// Synced records that the cache was full after this time and the peer has waited. The caller tells the harness next.
func (r Results) Synced(objects int, after time.Duration, cpu float64) {
	r["objects"] = float64(objects)
	r["sync_seconds"], r["sync_cpu"] = after.Seconds(), cpu
	r["rss_sync"], r["peak_sync"] = Memory("VmRSS"), Memory("VmHWM")
}
