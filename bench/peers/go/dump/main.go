// dump writes objects in protobuf for the bench's server, because Go has the definitions.
//
// Its argument is the kind. It reads objects as JSON, one after the other, and writes for each the length in four bytes,
// the highest first, and the message, without the envelope that names the kind.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
)

type message interface{ Marshal() ([]byte, error) }

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dump:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	kinds := map[string]func() message{
		"Pod":       func() message { return &corev1.Pod{} },
		"ConfigMap": func() message { return &corev1.ConfigMap{} },
		"Node":      func() message { return &corev1.Node{} },
		"Secret":    func() message { return &corev1.Secret{} },
	}
	if len(arguments) != 1 || kinds[arguments[0]] == nil {
		return errors.New("the argument must be Pod, ConfigMap, Node or Secret")
	}
	input := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	output := bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		object := kinds[arguments[0]]()
		if err := input.Decode(object); err == io.EOF {
			return output.Flush()
		} else if err != nil {
			return err
		}
		bytes, err := object.Marshal()
		if err != nil {
			return err
		}
		if err := binary.Write(output, binary.BigEndian, uint32(len(bytes))); err != nil {
			return err
		}
		if _, err := output.Write(bytes); err != nil {
			return err
		}
	}
}
