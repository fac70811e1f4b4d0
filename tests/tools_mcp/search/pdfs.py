"""Small PDF files, written here object by object (ISO 32000-1, 7.5), so that no other library's habits are in them."""

import zlib
from collections.abc import Sequence


def pdf(*pages: str, title: str = "", packed: bool = False, extra: Sequence[bytes] = ()) -> bytes:
    """A file with these pages of one line of text each."""
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>".encode(),
    ]
    for number, text in enumerate(pages):
        drawing = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {6 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            stream(zlib.compress(drawing), "/Filter /FlateDecode") if packed else stream(drawing),
        ]
    return assembled([*objects, *extra])


def stream(data: bytes, more: str = "") -> bytes:
    """A stream object."""
    return f"<< /Length {len(data)} {more} >>\nstream\n".encode() + data + b"\nendstream"


def assembled(objects: Sequence[bytes], trailer: str = "/Info 4 0 R") -> bytes:
    """A file of these objects, the first of them its catalog."""
    out = b"%PDF-1.4\n"
    places = []
    for number, one in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + one + b"\nendobj\n"
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    table = f"xref\n0 {count}\n0000000000 65535 f \n{rows}trailer\n<< /Size {count} /Root 1 0 R {trailer} >>\n"
    return out + f"{table}startxref\n{len(out)}\n%%EOF\n".encode()
