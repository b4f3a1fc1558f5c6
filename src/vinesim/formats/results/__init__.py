"""Result folders: written completely, checked and read as tables; and the files made from them."""
