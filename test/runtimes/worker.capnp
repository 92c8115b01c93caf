using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    # Where the client finds its server.
    (name = "internet", network = (allow = ["private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.bundle.js")],
  compatibilityDate = "2025-01-01",
  durableObjectNamespaces = [(className = "Room", uniqueKey = "resumable-bus-room")],
  durableObjectStorage = (inMemory = void),
  bindings = [(name = "ROOM", durableObjectNamespace = "Room")],
);
