"""An OpenAI-compatible server on loopback that answers every chat at once: `python server.py` prints its port."""

from __future__ import annotations

import asyncio
import json

ANSWER = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ANSWER: A"}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ANSWER)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reads requests of a connection, and answers each, until the client hangs up."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            _, _, rest = head.partition(b"content-length:")
            await reader.readexactly(int(rest.split(b"\r\n")[0] or 0))
            writer.write(HEAD + ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    """Serves until it is killed."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
