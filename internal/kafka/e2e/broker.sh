#!/usr/bin/env bash
# A Kafka broker of one node (KRaft), from its jars on Maven Central, for tests:
#   broker.sh install          fetches the jars into the user's cache folder; needs Java 17 and Maven
#   broker.sh run DIR PORT     runs a broker on 127.0.0.1:PORT with its data in DIR, until it is ended
# The controller listens on PORT + 1. run is the broker itself: a signal to it reaches the broker.
set -euo pipefail
version=4.3.0
cache="${XDG_CACHE_HOME:-$HOME/.cache}/mssqlcdc/kafka-$version"

install() {
  [ ! -e "$cache/complete" ] || return 0
  command -v java >/dev/null && command -v mvn >/dev/null || { echo "broker.sh: needs java and mvn" >&2; return 1; }
  mkdir -p "$cache"
  cat >"$cache/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
POM
  mvn -q -B -f "$cache/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/lib" -DincludeScope=runtime
  touch "$cache/complete"
}

run() {
  local dir=$1 port=$2 java=(java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$cache/lib/*")
  mkdir -p "$dir"
  cat >"$dir/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
advertised.listeners=PLAINTEXT://127.0.0.1:$port
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=$dir/data
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
auto.create.topics.enable=true
num.partitions=1
# What is acknowledged is on the disk, because the tests kill the only replica.
log.flush.interval.messages=1
PROPERTIES
  if [ ! -e "$dir/data/meta.properties" ]; then
    "${java[@]}" kafka.tools.StorageTool format --ignore-formatted -t bXNzcWxjZGMtdGVzdC1pZA -c "$dir/server.properties" >"$dir/format.log" 2>&1 || { cat "$dir/format.log" >&2; return 1; }
  fi
  exec "${java[@]:0:1}" -Xms128m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "${java[@]:1}" kafka.Kafka "$dir/server.properties"
}

case "${1:-}" in
  install) install ;;
  run) run "$2" "$3" ;;
  *) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
