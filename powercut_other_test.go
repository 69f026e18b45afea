//go:build !linux

package main

func trapWhenRecorded() {}
