// Package kafka is an input and an output of Benthos for Kafka brokers, for the standalone binary. They have the name redpanda and
// the fields that Redpanda Connect's components of this name have, so that one YAML runs in both; kafka_franz is taken as
// another name for them. Inside Redpanda Connect its own components are used, and this package is not built.
//
// The input gives out one batch of a partition at a time, and the next one after the acknowledgement; a refused batch goes out
// again before anything else of its partition. A lane is what is known of one partition, lanes are all of them, and a consumer is
// a client with its poll loop and commits. The output writes the records of a batch in order.
//
// It does not speak to a schema registry, and reads no partition out of order.
package kafka
